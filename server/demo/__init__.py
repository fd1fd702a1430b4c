"""Make the demo stores: believable Brazilian shops to click through, to try requests on and to test against.

stores        which stores there are and who lives in them
assortment    what a shop sells, as data; casa_ipe and serra_alta are the two shops
population    customers and what they say; sales decides who bought what when, and what became of it
playing       plays all of it through the operations in operations/, with the clock set back
credentials   gives those who live there new passwords, keys and tokens
programs      gives a storefront and an app theirs
making        does all this in order, again and again
"""
