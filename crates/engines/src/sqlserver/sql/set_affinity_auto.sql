-- about: the server is bound to nothing again
-- from: 2012
ALTER SERVER CONFIGURATION SET PROCESS AFFINITY CPU = AUTO
