-- Begins a call, or finds the first one. KEYS[1]: the record.
-- ARGV: token, sealed digest, milliseconds of the lease, milliseconds of the lifetime.
-- Returns the state, and of an existing record its digest and its outcome, if there is one.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'token', 'digest', 'until', 'outcome')
if not found[1] then
    redis.call('HSET', KEYS[1], 'token', ARGV[1], 'digest', ARGV[2], 'until', now + ARGV[3])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    return { 'first' }
end
if found[4] then
    return { 'done', found[2], found[4] }
end
-- The same call, sent again after a broken connection.
if found[1] == ARGV[1] then
    return { 'first' }
end
if tonumber(found[3]) > now then
    return { 'running', found[2] }
end
return { 'unknown', found[2] }
