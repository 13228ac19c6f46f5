-- Reads a task. KEYS[1]: the task. Returns the time, and of an existing task its tag, its record and the end of its lease.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'tag', 'record', 'until')
if not (found[1] and found[2] and found[3]) then
    return { string.format('%.0f', now) }
end
return { string.format('%.0f', now), found[1], found[2], found[3] }
