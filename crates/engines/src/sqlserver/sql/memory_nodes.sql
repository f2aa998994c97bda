-- about: memory that the server has on each node, and that of it which lies on another
-- from: 2012
SELECT memory_node_id, pages_kb, foreign_committed_kb FROM sys.dm_os_memory_nodes WHERE memory_node_id < 64
