-- about: what was set up to write statements down, and which
-- from: 2016
USE master;
IF EXISTS (SELECT 1 FROM sys.server_audits WHERE name = N'hopcost')
BEGIN
    ALTER SERVER AUDIT hopcost WITH (STATE = OFF);
    DROP SERVER AUDIT hopcost;
END
