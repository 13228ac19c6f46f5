-- Claims a session. KEYS[1]: the session. ARGV: node, sealed owner, milliseconds of the lease, milliseconds of the
-- lifetime, node that is gone. Returns nothing if there is none, the owner if another node has a valid lease, or else the record, the
-- memory and the generation.
local found = redis.call('HMGET', KEYS[1], 'record', 'memory', 'node', 'owner', 'until', 'generation')
if not found[1] then
    return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if found[4] and found[3] ~= ARGV[1] and found[3] ~= ARGV[5] and (tonumber(found[5]) or 0) > now then
    return { found[4] }
end
local generation = (tonumber(found[6]) or 0) + 1
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'owner', ARGV[2], 'until', now + ARGV[3], 'generation', generation)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { found[1], found[2] or '', string.format('%.0f', generation) }
