-- about: nodes of CPUs, the memory node of each, the CPUs on-line
-- from: 2012
SELECT node_id, memory_node_id, cpu_affinity_mask, online_scheduler_count FROM sys.dm_os_nodes WHERE node_id < 64
