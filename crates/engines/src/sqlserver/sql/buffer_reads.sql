-- about: pages read from disk
-- from: 2012
SELECT cntr_value FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%Buffer Manager%' AND counter_name = 'Page reads/sec'
