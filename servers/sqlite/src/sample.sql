CREATE TABLE planets (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('rocky', 'gas giant', 'ice giant')),
    radius_km REAL NOT NULL,
    year_days REAL NOT NULL
);

CREATE TABLE moons (
    id INTEGER PRIMARY KEY,
    planet_id INTEGER NOT NULL REFERENCES planets (id),
    name TEXT NOT NULL UNIQUE,
    radius_km REAL NOT NULL,
    discovered INTEGER -- the year; NULL if it was always known
);

CREATE TABLE missions (
    id INTEGER PRIMARY KEY,
    planet_id INTEGER NOT NULL REFERENCES planets (id),
    name TEXT NOT NULL,
    launched INTEGER NOT NULL
);

CREATE INDEX moons_by_planet ON moons (planet_id);

CREATE VIEW largest_moons AS
SELECT p.name AS planet, m.name AS moon, max(m.radius_km) AS radius_km
FROM planets p
JOIN moons m ON m.planet_id = p.id
GROUP BY p.id;

INSERT INTO planets VALUES
    (1, 'Mercury', 'rocky', 2439.7, 87.97),
    (2, 'Venus', 'rocky', 6051.8, 224.7),
    (3, 'Earth', 'rocky', 6371.0, 365.26),
    (4, 'Mars', 'rocky', 3389.5, 686.98),
    (5, 'Jupiter', 'gas giant', 69911.0, 4332.59),
    (6, 'Saturn', 'gas giant', 58232.0, 10759.22),
    (7, 'Uranus', 'ice giant', 25362.0, 30688.5),
    (8, 'Neptune', 'ice giant', 24622.0, 60182.0);

INSERT INTO moons (planet_id, name, radius_km, discovered) VALUES
    (3, 'Moon', 1737.4, NULL),
    (4, 'Phobos', 11.3, 1877),
    (4, 'Deimos', 6.2, 1877),
    (5, 'Io', 1821.6, 1610),
    (5, 'Europa', 1560.8, 1610),
    (5, 'Ganymede', 2634.1, 1610),
    (5, 'Callisto', 2410.3, 1610),
    (6, 'Titan', 2574.7, 1655),
    (6, 'Rhea', 763.8, 1672),
    (6, 'Enceladus', 252.1, 1789),
    (7, 'Titania', 788.4, 1787),
    (7, 'Oberon', 761.4, 1787),
    (7, 'Miranda', 235.8, 1948),
    (8, 'Triton', 1353.4, 1846),
    (8, 'Nereid', 170.0, 1949);

INSERT INTO missions (planet_id, name, launched) VALUES
    (1, 'Mariner 10', 1973),
    (1, 'MESSENGER', 2004),
    (2, 'Venera 7', 1970),
    (2, 'Magellan', 1989),
    (4, 'Viking 1', 1975),
    (4, 'Perseverance', 2020),
    (5, 'Galileo', 1989),
    (5, 'Juno', 2011),
    (6, 'Cassini', 1997),
    (7, 'Voyager 2', 1977),
    (8, 'Voyager 2', 1977);
