-- Stores an outcome. KEYS[1]: the record. ARGV: token, number of this attempt, outcome, milliseconds of the lifetime.
local found = redis.call('HMGET', KEYS[1], 'token', 'outcome', 'attempt')
if found[1] ~= ARGV[1] then
    return 0
end
if found[2] then
    -- The same attempt, sent again after a broken connection.
    return found[3] == ARGV[2] and 1 or 0
end
redis.call('HSET', KEYS[1], 'outcome', ARGV[3], 'attempt', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
