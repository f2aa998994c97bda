-- about: binds the server to CPUs, at once; needs --allow-server-changes
-- from: 2012
ALTER SERVER CONFIGURATION SET PROCESS AFFINITY CPU = {cpus}
