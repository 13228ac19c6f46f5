-- Extends the lease of a running call. KEYS[1]: the record. ARGV: token, milliseconds of the lease.
local found = redis.call('HMGET', KEYS[1], 'token', 'outcome')
if found[1] ~= ARGV[1] or found[2] then
    return 0
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'until', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
-- A call that runs for longer than its record was to live is not begun again.
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
