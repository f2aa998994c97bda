-- about: where the threads that write the log run
-- from: 2012
SELECT s.cpu_id FROM sys.dm_exec_requests AS r
JOIN sys.dm_os_schedulers AS s ON s.scheduler_id = r.scheduler_id
WHERE r.command = 'LOG WRITER'
