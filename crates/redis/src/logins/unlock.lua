-- Ends a lock. KEYS[1]: the lock. ARGV: the token of its owner.
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
