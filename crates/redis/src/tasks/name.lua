-- Replaces the task of an idempotency key that is gone. KEYS[1]: the key. ARGV: value that was read, new value, time of expiry.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[3])
return 1
