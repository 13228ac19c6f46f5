-- Extends a lease. KEYS[1]: the session. ARGV: node, generation, milliseconds of the lease, milliseconds of the lifetime.
local found = redis.call('HMGET', KEYS[1], 'node', 'generation')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then
    return 0
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'until', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
