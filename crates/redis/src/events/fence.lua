-- Refuses lower generations from now on. KEYS: the events of a session; what is known of them.
-- ARGV: generation, milliseconds of the lifetime.
local seen = tonumber(redis.call('HGET', KEYS[2], 'generation')) or 0
if tonumber(ARGV[1]) > seen then
    redis.call('HSET', KEYS[2], 'generation', ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
