-- about: time that sessions have waited, by what for
-- from: 2012
SELECT wait_type, wait_time_ms FROM sys.dm_os_wait_stats
WHERE wait_time_ms > 0 AND wait_type IN (
    'WRITELOG', 'LOGBUFFER', 'LOGMGR_QUEUE', 'CXPACKET', 'CXCONSUMER', 'SOS_SCHEDULER_YIELD', 'PAGEIOLATCH_SH',
    'PAGEIOLATCH_EX', 'PAGELATCH_EX', 'PAGELATCH_SH', 'LCK_M_X', 'LCK_M_S', 'RESOURCE_SEMAPHORE', 'THREADPOOL',
    'ASYNC_NETWORK_IO', 'CMEMTHREAD', 'MEMORY_ALLOCATION_EXT', 'ROWGROUP_VERSION', 'HTBUILD')
