-- about: calls and statements in a file of SQL Trace, by session
-- from: 2012
SELECT SPID, SUM(CASE EventClass WHEN 10 THEN 1 ELSE 0 END), SUM(CASE EventClass WHEN 45 THEN 1 ELSE 0 END)
FROM sys.fn_trace_gettable(N'{file}', DEFAULT) WHERE EventClass IN (10, 45) GROUP BY SPID
