-- Ends the ownership of a session. KEYS[1]: the session. ARGV: generation. The generation stays.
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[1] then
    return 0
end
return redis.call('HDEL', KEYS[1], 'node', 'owner', 'until')
