-- Replaces the record of a task, if no other writer did since it was read. KEYS[1]: the task.
-- ARGV: tag that was read, new tag, sealed record, generation, channel, message;
-- for a changed lease (a new runner, a release) also the end of the lease that was read, and the new one.
-- Returns 0 if there was another writer, or else 1.
local found = redis.call('HMGET', KEYS[1], 'tag', 'until')
-- The same call, sent again after a broken connection.
if found[1] == ARGV[2] then
    return 1
end
if found[1] ~= ARGV[1] then
    return 0
end
if ARGV[8] then
    -- A lease that was extended meanwhile is not taken over.
    if found[2] ~= ARGV[7] then
        return 0
    end
    redis.call('HSET', KEYS[1], 'until', ARGV[8])
end
redis.call('HSET', KEYS[1], 'tag', ARGV[2], 'record', ARGV[3], 'generation', ARGV[4])
redis.call('PUBLISH', ARGV[5], ARGV[6])
return 1
