-- about: bytes written to our database's log, and how often it was flushed
-- from: 2012
SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%:Databases%' AND instance_name = 'hopcost'
  AND counter_name IN ('Log Bytes Flushed/sec', 'Log Flushes/sec')
