-- about: whoever is in our database leaves it, before it goes
-- from: 2012
ALTER DATABASE hopcost SET SINGLE_USER WITH ROLLBACK IMMEDIATE
