-- about: statements in an audit's file by session; a statement has a record for each object, all of one transaction
-- from: 2016
SELECT session_id, COUNT(DISTINCT transaction_id) FROM sys.fn_get_audit_file(N'{file}', DEFAULT, DEFAULT)
WHERE database_name = N'hopcost' AND transaction_id <> 0 GROUP BY session_id
