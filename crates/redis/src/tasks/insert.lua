-- Stores a new task. KEYS[1]: the task. ARGV: tag, sealed record, generation, milliseconds of the lease, time of expiry.
-- A task that exists is not changed: this is the same call, sent again.
if redis.call('EXISTS', KEYS[1]) == 0 then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('HSET', KEYS[1], 'tag', ARGV[1], 'record', ARGV[2], 'generation', ARGV[3], 'until', now + ARGV[4])
    redis.call('PEXPIREAT', KEYS[1], ARGV[5])
end
return 1
