-- A database as the first version of the schema left it.
PRAGMA journal_mode = WAL;
CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT,
    over INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX tasks_by_owner ON tasks (owner, seq);
CREATE INDEX tasks_by_expiry ON tasks (expires);
INSERT INTO tasks (id, owner, over, expires, record) VALUES
    ('done', NULL, 1, 4102444800000, '{"id":"done","owner":null,"status":"completed","message":null,"created":1780000000000,"updated":1780000000001,"ttl":2322444800000,"poll_interval":500,"asks":[],"finished":{"Result":[{"content":[]},"completed"]}}'),
    ('ran', 'alice', 0, 4102444800000, '{"id":"ran","owner":"alice","status":"input_required","message":"half of it","created":1780000000000,"updated":1780000000001,"ttl":2322444800000,"poll_interval":500,"asks":[["input-1",{"method":"roots/list","params":{}}]],"finished":null}');
