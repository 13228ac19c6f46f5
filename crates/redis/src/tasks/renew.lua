-- Extends the lease of a runner. KEYS[1]: the task. ARGV: generation, milliseconds of the lease.
-- A task that has ended has the generation 0, which no runner has; a lease that was released ends at 0.
local found = redis.call('HMGET', KEYS[1], 'generation', 'until')
if found[1] ~= ARGV[1] or ARGV[1] == '0' or found[2] == '0' then
    return 0
end
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
redis.call('HSET', KEYS[1], 'until', math.max(ends, tonumber(found[2])))
return 1
