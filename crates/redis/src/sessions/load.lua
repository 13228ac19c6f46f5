-- Loads a session. KEYS[1]: the session. Returns its record, its memory, and its owner if that has a valid lease; each
-- is empty if there is none.
local found = redis.call('HMGET', KEYS[1], 'record', 'memory', 'owner', 'until')
if not found[1] then
    return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local valid = found[3] and (tonumber(found[4]) or 0) > now
return { found[1], found[2] or '', valid and found[3] or '' }
