-- about: which CPU each scheduler is on, and whether it is in use
-- from: 2012
SELECT cpu_id, parent_node_id, is_online FROM sys.dm_os_schedulers WHERE scheduler_id < 1048576
