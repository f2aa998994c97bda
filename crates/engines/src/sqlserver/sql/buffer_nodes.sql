-- about: look-ups of pages on the worker's own memory node and on others, since the server was started
-- from: 2012
SELECT RTRIM(instance_name), CASE WHEN counter_name LIKE 'Remote no%' THEN 'remote' ELSE 'local' END, cntr_value
FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%Buffer Node%'
  AND (counter_name LIKE 'Local node page lookups/sec%' OR counter_name LIKE 'Remote no% page lookups/sec%')
