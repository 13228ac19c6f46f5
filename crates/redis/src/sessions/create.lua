-- Stores a session. KEYS[1]: the session. ARGV: sealed record, sealed memory or nothing, node, sealed owner,
-- milliseconds of the lease, milliseconds of the lifetime. Returns the generation.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local generation = (tonumber(redis.call('HGET', KEYS[1], 'generation')) or 0) + 1
redis.call('HSET', KEYS[1], 'record', ARGV[1], 'node', ARGV[3], 'owner', ARGV[4],
    'generation', generation, 'until', now + ARGV[5])
if ARGV[2] == '' then
    redis.call('HDEL', KEYS[1], 'memory')
else
    redis.call('HSET', KEYS[1], 'memory', ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return generation
