-- about: loads are logged by the page where a table is empty
-- from: 2012
ALTER DATABASE hopcost SET RECOVERY SIMPLE
