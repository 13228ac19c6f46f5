-- Extends a lease. KEYS[1]: the session. ARGV: node, generation, milliseconds of the lease, milliseconds of the lifetime.
-- Returns 0 if the node does not own the session, 1, or 2 if there are messages for it.
local found = redis.call('HMGET', KEYS[1], 'node', 'generation', 'posted', 'taken')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then
    return 0
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'until', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return (found[3] or '0') == (found[4] or '0') and 1 or 2
