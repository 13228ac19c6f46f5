-- Stores the state of a session. KEYS[1]: the session. ARGV: generation, sealed memory.
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[1] then
    return 0
end
redis.call('HSET', KEYS[1], 'memory', ARGV[2])
return 1
