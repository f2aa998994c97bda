-- about: is the server bound to CPUs, and to which?
-- from: 2012
SELECT i.affinity_type_desc, s.cpu_id FROM sys.dm_os_sys_info AS i
CROSS JOIN sys.dm_os_schedulers AS s WHERE s.status = 'VISIBLE ONLINE' ORDER BY s.cpu_id
