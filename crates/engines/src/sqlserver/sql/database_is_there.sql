-- about: is there a database of our name?
-- from: 2012
-- spoken: Babelfish 4.3
SELECT count(*) FROM sys.databases WHERE name = 'hopcost'
