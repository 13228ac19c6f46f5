-- Returns the messages for a session, and removes those that were taken before. KEYS[1]: the session. ARGV: generation, number of the
-- last message that was taken. Returns pairs of number and sealed message.
local found = redis.call('HMGET', KEYS[1], 'generation', 'posted', 'taken')
if found[1] ~= ARGV[1] then
    return {}
end
local last, taken = tonumber(found[2]) or 0, tonumber(found[3]) or 0
local after = math.min(tonumber(ARGV[2]), last)
local messages = {}
for at = taken + 1, last do
    local number = string.format('%.0f', at)
    if at <= after then
        redis.call('HDEL', KEYS[1], 'message:' .. number)
        redis.call('HSET', KEYS[1], 'taken', number)
    else
        messages[#messages + 1] = number
        messages[#messages + 1] = redis.call('HGET', KEYS[1], 'message:' .. number)
    end
end
return messages
