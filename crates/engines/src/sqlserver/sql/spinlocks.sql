-- about: how often threads met at the log's two locks, and how long they turned in place
-- from: 2012
SELECT name, collisions, spins, backoffs FROM sys.dm_os_spinlock_stats WHERE name IN ('LOGCACHE_ACCESS', 'LOGFLUSHQ')
