-- about: SQL Trace no longer does
-- from: 2012
DECLARE @id int;
SELECT @id = id FROM sys.traces WHERE path LIKE N'{path}{name}%';
IF @id IS NOT NULL
BEGIN
    EXEC sys.sp_trace_setstatus @id, 0;
    EXEC sys.sp_trace_setstatus @id, 2;
END
