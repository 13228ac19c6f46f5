-- Appends an event. KEYS: the events of a session, oldest first; what is known of them.
-- ARGV: generation, stream, sequence number, sealed event, most events, most bytes, milliseconds of the lifetime.
-- Returns 0 if a higher generation was seen.
local generation = tonumber(ARGV[1])
local seen = tonumber(redis.call('HGET', KEYS[2], 'generation')) or 0
if generation < seen then
    return 0
end
local stream, number = ARGV[2], tonumber(ARGV[3])
local last = tonumber(redis.call('HGET', KEYS[2], 'last:' .. stream)) or 0
-- Otherwise it is the same event, sent again after a broken connection.
if number > last then
    local entry = stream .. ':' .. ARGV[3] .. ':' .. ARGV[4]
    local count = redis.call('RPUSH', KEYS[1], entry)
    redis.call('HSET', KEYS[2], 'generation', ARGV[1], 'last:' .. stream, ARGV[3])
    local bytes = redis.call('HINCRBY', KEYS[2], 'bytes', #entry)
    while count > tonumber(ARGV[5]) or (count > 0 and bytes > tonumber(ARGV[6])) do
        local oldest = redis.call('LPOP', KEYS[1])
        local its, at = string.match(oldest, '^(%d+):(%d+):')
        -- With its last event a stream is unknown.
        if redis.call('HGET', KEYS[2], 'last:' .. its) == at then
            redis.call('HDEL', KEYS[2], 'last:' .. its)
        end
        count = count - 1
        bytes = redis.call('HINCRBY', KEYS[2], 'bytes', -#oldest)
    end
end
redis.call('PEXPIRE', KEYS[1], ARGV[7])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
return 1
