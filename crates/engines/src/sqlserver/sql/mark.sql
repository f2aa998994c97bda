-- about: what hopcost has put there, and what it has to put back
-- from: 2012
-- spoken: Babelfish 4.3
SELECT content FROM hopcost.dbo.made_by_hopcost
