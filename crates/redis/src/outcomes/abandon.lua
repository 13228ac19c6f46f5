-- Removes the record of a call that was not executed. KEYS[1]: the record. ARGV: token.
local found = redis.call('HMGET', KEYS[1], 'token', 'outcome')
if found[1] == ARGV[1] and not found[2] then
    return redis.call('DEL', KEYS[1])
end
return 0
