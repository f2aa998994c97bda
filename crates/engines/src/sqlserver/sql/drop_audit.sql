-- about: what was set up to write statements down
-- from: 2016
USE master;
IF EXISTS (SELECT 1 FROM sys.server_audits WHERE name = N'{name}')
BEGIN
    ALTER SERVER AUDIT {name} WITH (STATE = OFF);
    DROP SERVER AUDIT {name};
END
