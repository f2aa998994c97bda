-- about: what was said of our database's statements
-- from: 2016
USE hopcost;
IF EXISTS (SELECT 1 FROM sys.database_audit_specifications WHERE name = N'{name}')
BEGIN
    ALTER DATABASE AUDIT SPECIFICATION {name} WITH (STATE = OFF);
    DROP DATABASE AUDIT SPECIFICATION {name};
END;
USE master
