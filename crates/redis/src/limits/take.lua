-- A token bucket. KEYS[1]: the bucket. ARGV: capacity, milliseconds for one token, cost.
-- Returns 0 if the tokens were taken, or the milliseconds until there are enough.
local capacity, each, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(bucket[1]), tonumber(bucket[2])
if tokens and at then
    -- A clock that was set back adds nothing.
    tokens = math.min(capacity, tokens + math.max(0, now - at) / each)
else
    tokens = capacity
end
if tokens < cost then
    return math.ceil((cost - tokens) * each)
end
tokens = tokens - cost
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.3f', now))
-- A full bucket is as good as none.
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) * each) + 1000)
return 0
