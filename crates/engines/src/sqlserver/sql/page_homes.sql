-- about: the memory nodes of the pages that hold our data
-- from: 2012
SELECT numa_node, count_big(*) FROM sys.dm_os_buffer_descriptors WHERE database_id = DB_ID('hopcost') GROUP BY numa_node
