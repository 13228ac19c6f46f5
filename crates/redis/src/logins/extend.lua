-- Extends a lock. KEYS[1]: the lock. ARGV: the token of its owner, milliseconds from now.
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
