-- Returns the events of a stream after a number. KEYS: the events of a session; what is known of them.
-- ARGV: stream, sequence number. Returns the last number of the stream, and pairs of number and sealed event.
local last = redis.call('HGET', KEYS[2], 'last:' .. ARGV[1])
if not last then
    return {}
end
local found = { last }
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    local stream, number, start = string.match(entry, '^(%d+):(%d+):()')
    if stream == ARGV[1] and tonumber(number) > tonumber(ARGV[2]) then
        found[#found + 1] = number
        found[#found + 1] = string.sub(entry, start)
    end
end
return found
