-- about: was it made by hopcost?
-- from: 2012
-- spoken: Babelfish 4.3
SELECT count(*) FROM hopcost.INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'made_by_hopcost'
