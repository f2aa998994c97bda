-- about: the file to which SQL Trace writes since that was begun
-- from: 2012
SELECT path FROM sys.traces WHERE path LIKE N'{path}{name}%'
