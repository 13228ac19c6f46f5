-- Adds a task to those of its owner, and removes some that have expired. KEYS: order of creation, times of expiry.
-- ARGV: member, time of expiry in milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now / 1000, 'LIMIT', 0, 100)
if #gone > 0 then
    redis.call('ZREM', KEYS[1], unpack(gone))
    redis.call('ZREM', KEYS[2], unpack(gone))
end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local score = last and math.max(now, tonumber(last) + 1) or now
redis.call('ZADD', KEYS[1], 'NX', string.format('%.0f', score), ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
-- As long as its last task.
for _, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    if left < 0 or left < ARGV[2] - now / 1000 then
        redis.call('PEXPIREAT', key, ARGV[2])
    end
end
return 1
