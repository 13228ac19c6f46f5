-- Stores a message for the owner of a session. KEYS[1]: the session. ARGV: node, sealed message, largest number of messages, their
-- largest size. Returns 1, 0 if the node does not own the session, or 2 if there is no room.
local found = redis.call('HMGET', KEYS[1], 'record', 'node', 'until', 'posted', 'taken')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not found[1] or found[2] ~= ARGV[1] or (tonumber(found[3]) or 0) <= now then
    return 0
end
local last, taken = tonumber(found[4]) or 0, tonumber(found[5]) or 0
local bytes = #ARGV[2]
for number = taken + 1, last do
    bytes = bytes + redis.call('HSTRLEN', KEYS[1], 'message:' .. string.format('%.0f', number))
end
if last - taken >= tonumber(ARGV[3]) or bytes > tonumber(ARGV[4]) then
    return 2
end
local number = string.format('%.0f', last + 1)
redis.call('HSET', KEYS[1], 'message:' .. number, ARGV[2], 'posted', number)
return 1
