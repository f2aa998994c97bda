-- about: whether SQL Trace writes calls down
-- from: 2012
SELECT COUNT(*) FROM sys.traces WHERE path LIKE N'{path}{name}%'
